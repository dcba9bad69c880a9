// Package markdown reads what agents write for people: Markdown, of which it
// keeps what helps to read (paragraphs, lists, tables, code, emphasis, links)
// and nothing that could act. What comes out are values, not HTML: whoever
// shows them writes each text as text, so that nothing an agent writes can
// become a part of a page. HTML in it is text, images are their descriptions,
// headings are bold lines, and a link is one only to an http or https address,
// whose host is there to be shown.
//
// Parse reads a text. It fails on nothing: what is too long or too deep comes as
// plain text. Outside reads the address of a link again, for the page that asks
// before it is opened.
package markdown
