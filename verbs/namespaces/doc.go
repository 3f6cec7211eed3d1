// Package namespaces contains only tests, which need root: they open devices on the interfaces of
// network namespaces, on each kind of link, and change addresses and interfaces under traffic.
package namespaces
