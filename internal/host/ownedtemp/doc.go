// Package ownedtemp makes temporary directories that do not outlive their process for long: if the
// process is killed, the next process that makes a directory in the same place removes the one left
// behind.
package ownedtemp
