package tools

import "encoding/json"

// These take valid, compact JSON apart where it lies. A decoder would do the same
// in twenty times the time, and documents here are megabytes.

// eachMember visits the members of an object in their order; key is as written,
// in its quotes.
func eachMember(doc json.RawMessage, visit func(key, value json.RawMessage)) {
	for i := 1; i < len(doc) && doc[i] != '}'; {
		end := valueEnd(doc, i)
		key := doc[i:end]
		i = end + 1 // the colon
		end = valueEnd(doc, i)
		visit(key, doc[i:end])
		if i = end; i < len(doc) && doc[i] == ',' {
			i++
		}
	}
}

// eachElement visits the elements of an array in their order.
func eachElement(doc json.RawMessage, visit func(value json.RawMessage)) {
	for i := 1; i < len(doc) && doc[i] != ']'; {
		end := valueEnd(doc, i)
		visit(doc[i:end])
		if i = end; i < len(doc) && doc[i] == ',' {
			i++
		}
	}
}

// valueEnd is where the value that begins at i ends.
func valueEnd(doc json.RawMessage, i int) int {
	for depth := 0; i < len(doc); i++ {
		switch doc[i] {
		case '"':
			for i++; i < len(doc) && doc[i] != '"'; i++ {
				if doc[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',', ':':
			if depth == 0 {
				return i
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return min(i+1, len(doc))
		}
	}
	return len(doc)
}

// jsonKind is the JSON type of a value.
func jsonKind(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "null"
	}
	switch raw[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}
