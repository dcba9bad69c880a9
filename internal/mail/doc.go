// Package mail hands plain text mail to the installation's mail server by SMTP:
// one message to one person at a time, so that of each it is known what became
// of it.
//
//	New   checks where to deliver and who sends
//	Open  connects, says hello, and encrypts if the server offers STARTTLS
//	Send  hands over one message
//
// Sending can't be taken back, so an Error says of a message that failed
// whether the server may have it all the same (Unsure): that is so only between
// the end of its text and the server's answer. Whatever fails before was surely
// not sent.
//
// Nothing that stands in an address or a subject can become a header or a
// command of its own: line breaks and other control characters are refused, not
// mended.
package mail
