package llm

import "testing"

// R: M1
func TestTokensCostExactlyWhatThePriceSays(t *testing.T) {
	t.Parallel()
	price := Price{Input: 3_000_000, Output: 15_000_000, CachedInput: 300_000, CacheWrite: 3_750_000}
	for name, c := range map[string]struct {
		price  Price
		tokens Tokens
		want   Usage
	}{
		"a million of each": {price, Tokens{1_000_000, 1_000_000, 1_000_000, 1_000_000}, Usage{3_000_000, 1_000_000, 22_050_000}},
		"a few":             {price, Tokens{Input: 7, Output: 3}, Usage{7, 3, 66}},
		// 0.3 millionths are counted as one: many small replies are not free.
		"less than a millionth":       {price, Tokens{CachedInput: 1}, Usage{1, 0, 1}},
		"no special price for caches": {Price{Input: 2_000_000, Output: 1}, Tokens{Input: 1, CachedInput: 2, CacheWrite: 3}, Usage{6, 0, 12}},
		"no price":                    {Price{}, Tokens{1, 2, 3, 4}, Usage{6, 4, 0}},
		// More than 64 bits on the way, and exact at the end.
		"very many": {Price{Input: 9_000_000_000}, Tokens{Input: 9_000_000_001}, Usage{9_000_000_001, 0, 81_000_000_009_000}},
	} {
		if got := c.price.Usage(c.tokens); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
