// Package httpcall makes one exchange with a web service as tools make it: to a
// host of a list and nowhere else, with credentials that no model sees and that no
// answer brings back, within bounds of size, and with every way in which it can
// fail turned into a failure that says what is known of its effect.
//
// It knows nothing of what is asked: tools build the request.
package httpcall
