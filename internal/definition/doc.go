// Package definition keeps what an operator defines: agents, each with its
// versions, and the entries of the installation that agents name (data sources,
// hosts).
//
// An agent is one YAML file, for the scripted model with a playbook beside it.
// Parse turns the file into an Agent: every default is filled in, and every
// fault is found at once, each with its line, what was expected and the nearest
// valid name. Apply stores it as a version. Versions are immutable: a session
// runs on the one that it began with, and the same content is the same version,
// however often it is applied. An agent belongs to one team; its slug is unique
// in the installation.
package definition
