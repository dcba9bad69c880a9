package web

import "strings"

const pathLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-_.?=&,"

// localPath is p if p is a path on this server by a strict grammar, else the
// fallback. What browsers read as another host (//evil, /\evil), as a scheme or
// as a header of its own is no such path. Only what may stand in an address
// unescaped is let through; escapes are not, as they hide what they mean.
func localPath(p, fallback string) string {
	if len(p) > 500 || !strings.HasPrefix(p, "/") || strings.HasPrefix(p, "//") {
		return fallback
	}
	for _, r := range p {
		if !strings.ContainsRune(pathLetters, r) {
			return fallback
		}
	}
	path, _, _ := strings.Cut(p, "?")
	if strings.Contains(path, "//") || strings.Contains(path, "..") {
		return fallback
	}
	return p
}
