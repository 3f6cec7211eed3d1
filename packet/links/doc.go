// Package links opens a link by the name of its kind, or selects the best kind for an address.
package links
