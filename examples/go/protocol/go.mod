// A module of its own, without dependencies: an adapter at any version of its library can require it, or copy it.
module example.com/golocks/protocol

go 1.22
