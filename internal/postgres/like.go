package postgres

import "strings"

var wildcards = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// Containing is the pattern for LIKE and ILIKE that finds what has text in it.
func Containing(text string) string { return "%" + wildcards.Replace(text) + "%" }
