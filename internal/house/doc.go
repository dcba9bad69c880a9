// Package house checks the house itself: it has no code but tests, which read
// the source as data.
//
//   - imports_test.go: who may import whom (plan_test.go is the plan), which
//     foreign package has which door, and what must never be reached.
//   - sql_test.go: every SQL constant prepares on a database with Baton's schema.
//   - rules_test.go: doc comments, locks in migrations, no init functions, no
//     sleeping tests, reasons beside each exception from a linter.
//   - marks_test.go: the requirements that tests name exist; docs/requirements.md
//     lists them. requirements.txt is the list.
//   - docs_test.go, dependencies_test.go, deploy_test.go: README.md, docs/ and
//     docker-compose.yml say what is true.
//
// Generated documents are written anew by
//
//	go test ./internal/house -update
//
// A rule that stands in the way of better code is changed here, in the commit
// that brings the code, with its reason.
package house
