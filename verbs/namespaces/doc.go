// Package namespaces has no code: its tests open devices on the interfaces of network namespaces, on links of each kind,
// and change the addresses and interfaces under traffic. They need root.
package namespaces
