module forge.example/acme/own

go 1.22

require (
	forge.example/acme/lib v1.4.0
	golang.example/x/text v0.14.0 // indirect
)
