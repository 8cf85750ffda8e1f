package main

// typeComments continue "X …" for types whose name does not say it all. The names are without the prefix Unstable.
var typeComments = map[string]string{}

// fieldComments explain fields whose name does not say it all, as Type.Field without the prefix Unstable.
var fieldComments = map[string]string{}
