// Package wiretest is a provider of models for tests. It speaks the real wire
// formats of Anthropic's Messages API and of OpenAI's Chat Completions API, as
// their documentation has them: streams, headers, errors and faults. What it
// says is given as the loop would read it, so the same reply can be had on both
// wires; what it is sent it checks as strictly as any provider does.
package wiretest
