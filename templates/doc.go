// Package templates is what Baton's pages look like: templ components, each fed
// by a page struct of its own.
//
// A page struct holds what the page shows and nothing else: text, numbers,
// times, addresses. The web room fills it from the domain, so that a page can be
// drawn, looked at and tested without a database, and so that no template can
// reach for what its reader may not see. Words come from the catalogue
// (package i18n) in the language of the context's reader; what agents and tools
// wrote is shown as text, never as markup.
//
// Every page can be read and answered without JavaScript: forms are forms,
// menus are popovers, links are links. Nothing is inline (no style attribute, no
// handler, no script block): the content security policy forbids it.
//
// The *_templ.go files are generated (go tool templ generate) and committed.
package templates
