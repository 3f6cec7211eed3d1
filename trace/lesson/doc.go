// Package lesson teaches RoCEv2 along a trace: at the first packet that shows a thing it says in two or three sentences what the
// thing is for, and which rule it comes from. It is written for people who know TCP.
//
// A [Teacher] is asked with every packet, after the Analyzer; it answers with the lessons that the packet is the first example of.
// Section numbers are those of the InfiniBand Architecture Specification, volume 1 (IBA); RoCEv2 is its annex A17.
package lesson
