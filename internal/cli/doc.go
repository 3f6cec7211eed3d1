// Package cli is gorxe's command line: the list of commands, each family of which is a package below. Commands that
// speak to an existing tool take that tool's flags, by name and by letter, and a host as last argument makes them the
// client.
//
// An error is one line on stderr: "gorxe: what went wrong, with which value, what to do". The exit code is 2 for a wrong
// command line, 130 when interrupted, and 1 for everything else that fails.
package cli
