// Package ownedtemp makes temporary directories that do not outlive their process for long: if
// the process is killed, the next process that makes one in the same place removes its directory.
package ownedtemp
