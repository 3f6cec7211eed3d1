// Package links opens a link by the name of its kind, and chooses the best kind that works at an address.
package links
