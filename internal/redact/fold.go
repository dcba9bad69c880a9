package redact

// Words of ASCII in whatever case, without the copy that lowering takes.

// endsFold is strings.HasSuffix in whatever case; suffix is in lower case.
func endsFold(s, suffix string) bool {
	return len(s) >= len(suffix) && sameFold(s[len(s)-len(suffix):], suffix)
}

// startsFold is strings.HasPrefix in whatever case; prefix is in lower case.
func startsFold(s, prefix string) bool {
	return len(s) >= len(prefix) && sameFold(s[:len(prefix)], prefix)
}

// sameFold is strings.EqualFold for ASCII; b is in lower case, and as long as a.
func sameFold(a, b string) bool {
	for i := len(b) - 1; i >= 0; i-- {
		if c := a[i]; c != b[i] && (c < 'A' || c > 'Z' || c|0x20 != b[i]) {
			return false
		}
	}
	return true
}

// holdsFold is strings.Contains in whatever case.
func holdsFold(s, part string) bool {
	for i := 0; i+len(part) <= len(s); i++ {
		if sameFold(s[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

// trimFold is strings.TrimSuffix in whatever case; suffix is in lower case.
func trimFold(s, suffix string) string {
	if endsFold(s, suffix) {
		return s[:len(s)-len(suffix)]
	}
	return s
}
