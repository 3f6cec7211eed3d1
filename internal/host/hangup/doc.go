// Package hangup reports pipes whose readers are gone: a program that has closed its end, or has ended, however it did;
// and pipes that have room again.
package hangup
