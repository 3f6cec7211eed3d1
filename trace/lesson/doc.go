// Package lesson explains RoCEv2 with the packets of a trace: at the first packet that
// demonstrates a concept, a lesson of up to four sentences says what the concept is for and which
// specification defines it. The lessons assume knowledge of TCP.
//
// Pass every packet to [Teacher.Teach] after the Analyzer; it returns the lessons for which the
// packet is the first example, up to a maximum per packet; further lessons follow at later packets.
// Section numbers refer to the InfiniBand Architecture Specification, volume 1 (IBA), which defines
// RoCEv2 in annex A17.
package lesson
