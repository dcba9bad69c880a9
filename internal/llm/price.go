package llm

import "math/big"

// Price is what a model costs: millionths of a US dollar for a million tokens.
// The zero Price says that none is known, and everything costs 0.
type Price struct {
	Input  int64
	Output int64
	// CachedInput is for input that the provider still had from an earlier
	// request, CacheWrite for input that it keeps for later ones. 0: as Input.
	CachedInput int64
	CacheWrite  int64
}

// Tokens is what a provider counted for one reply. The kinds don't overlap.
type Tokens struct{ Input, CachedInput, CacheWrite, Output int64 }

// Usage is what the tokens cost at this price, to the millionth of a dollar. A
// part of a millionth counts as a whole one: a limit is never passed unseen.
func (p Price) Usage(t Tokens) Usage {
	cached, write := p.CachedInput, p.CacheWrite
	if cached == 0 {
		cached = p.Input
	}
	if write == 0 {
		write = p.Input
	}
	sum := new(big.Int)
	for _, part := range [...][2]int64{{t.Input, p.Input}, {t.CachedInput, cached}, {t.CacheWrite, write}, {t.Output, p.Output}} {
		sum.Add(sum, new(big.Int).Mul(big.NewInt(part[0]), big.NewInt(part[1])))
	}
	const million = 1_000_000
	sum.Add(sum, big.NewInt(million-1)).Div(sum, big.NewInt(million))
	return Usage{InputTokens: t.Input + t.CachedInput + t.CacheWrite, OutputTokens: t.Output, CostMicros: sum.Int64()}
}
