// Package hotspot makes a Java virtual machine of OpenJDK's kind (HotSpot) collect its whole heap,
// from outside, and measures for how long all of its threads stood still.
//
// It speaks HotSpot's own attach protocol, as jcmd does, so no tool of a JDK is needed. The
// protocol has three steps. A file .attach_pidN in the machine's /tmp says that somebody wants in.
// SIGQUIT has the machine look for that file, and open the socket .java_pidN beside it. A command
// is then a version and four strings, each ended by a zero byte, and the answer is a number and a
// text. Source: src/hotspot/os/posix/attachListener_posix.cpp and
// src/hotspot/share/services/attachListener.cpp.
//
// What a collection did is read from the machine's own log of safepoints (-Xlog:safepoint), which
// goes to a file of ours for as long as that takes. Its stamps are readings of CLOCK_MONOTONIC, as
// those of package monotime are. A stamp that does not lie between two readings of ours is refused.
//
// SIGQUIT ends a process that does not handle it. So a machine gets one only if it does.
package hotspot
