// Package cli is gorxe's command line. [Main] runs it; each family of commands is a package
// below, and package app holds what they share. Commands that interoperate with an existing tool
// take the long and short flags of that tool; a host as the last argument makes them the client.
//
// An error is one line on stderr: "gorxe: what went wrong, with which value, what to do". The
// exit code is 2 for a wrong command line, 130 after an interrupt, and 1 for every other failure.
package cli
