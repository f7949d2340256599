// Package tidy holds the rules of this repository, and has nothing but tests: which package may
// import which, that a fault and a property are named in one place, that links lead somewhere, that
// prose keeps its width and its words, that files are short and names can be guessed, that regular
// expressions can be compiled, and what a release is made of.
package tidy
