// Package i18n is what Baton says to people, in each language it speaks.
//
// Sentences live in locales/<language>.json under flat keys such as
// "inbox.title"; a page asks for one with T and the reader's context. A value
// in a sentence is a placeholder ({{.name}}), a sentence that depends on a
// number has the CLDR plural forms of its language and takes the number as
// "n". Sentences that are made before their reader is known (what a tool did,
// why a question was withdrawn) are kept as a Message, key and parameters, and
// said in each reader's language when they are shown.
//
// The words for problems (package problem) stand under
// problem.<code>.{what,why,do}: what happened, why, and what the reader can do.
//
// Tests hold the catalogue to the code: each key is used, each key used is
// there in both languages with the same placeholders, and each problem code
// has its three sentences.
package i18n
