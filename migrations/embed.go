// Package migrations holds Baton's schema as goose SQL files, embedded.
//
// A migration goes forward only and is never edited once released: the next
// one mends it. Each file begins with a comment on the locks that it takes and
// how long it may hold them on a large installation.
package migrations

import "embed"

// FS is the folder of migrations.
//
//go:embed *.sql
var FS embed.FS
