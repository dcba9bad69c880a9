package scripted

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
)

// Playbooks compare and split sums of money, for which floats are no good. So
// an amount can be turned into a whole number of minor units and back.

// maxPlaces bounds the digits after the point.
const maxPlaces = 18

// centsBuiltin is cents(amount, places=2): the amount in minor units, exactly.
func centsBuiltin(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	places := 2
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "amount", &v, "places?", &places); err != nil {
		return nil, err
	}
	n, err := minorUnits(v, places)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	return starlark.MakeBigInt(n), nil
}

// amountBuiltin is amount(cents, places=2): the reverse, as text ("12.50").
func amountBuiltin(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Int
	places := 2
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "cents", &v, "places?", &places); err != nil {
		return nil, err
	}
	if places < 0 || places > maxPlaces {
		return nil, fmt.Errorf("%s: places is %d, want 0 to %d", b.Name(), places, maxPlaces)
	}
	n := v.BigInt()
	sign := ""
	if n.Sign() < 0 {
		sign = "-"
		n.Neg(n)
	}
	digits := n.String()
	if places == 0 {
		return starlark.String(sign + digits), nil
	}
	if missing := places + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	return starlark.String(sign + digits[:len(digits)-places] + "." + digits[len(digits)-places:]), nil
}

// minorUnits reads an int, a float (by its shortest text: 0.1 means 0.1) or a
// decimal text. An amount with more places than there are is refused, not
// rounded.
func minorUnits(v starlark.Value, places int) (*big.Int, error) {
	if places < 0 || places > maxPlaces {
		return nil, fmt.Errorf("places is %d, want 0 to %d", places, maxPlaces)
	}
	var text string
	switch v := v.(type) {
	case starlark.Int:
		text = v.String()
	case starlark.Float:
		text = strconv.FormatFloat(float64(v), 'f', -1, 64)
	case starlark.String:
		text = strings.TrimSpace(string(v))
	default:
		return nil, fmt.Errorf("got a %s, want an amount", v.Type())
	}
	if len(text) > 64 {
		return nil, errors.New("the amount has more than 64 digits")
	}
	whole, frac, _ := strings.Cut(text, ".")
	frac = strings.TrimRight(frac, "0")
	if len(frac) > places {
		return nil, fmt.Errorf("%s has more than %d decimal places", text, places)
	}
	digits := strings.TrimPrefix(whole, "-") + frac + strings.Repeat("0", places-len(frac))
	if strings.Trim(digits, "0123456789") != "" || whole == "" || whole == "-" {
		return nil, fmt.Errorf("%q is not an amount", text)
	}
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		return nil, fmt.Errorf("%q is not an amount", text)
	}
	if strings.HasPrefix(whole, "-") {
		n.Neg(n)
	}
	return n, nil
}
