// Package ownedtemp makes temporary directories that are removed even if their process is killed: by
// the next process that makes one in the same place.
package ownedtemp
