package main

// kind says what a definition or a type is in Go.
type kind int

const (
	kindString  kind = iota // string or a named string
	kindBool                // bool
	kindUint                // uint16, uint32, uint64
	kindInt                 // int32, int64
	kindFloat               // float64
	kindAny                 // any JSON
	kindObject              // a JSON object of any content
	kindMeta                // _meta
	kindEnum                // named string with constants
	kindIntEnum             // named integer with constants
	kindStruct
	kindUnion
	kindCustom  // written by hand in package acp
	kindSlice   // elem
	kindMap     // elem by name
	kindOrdered // elem by name, order kept
	kindPairs   // elem is a struct of name and value
	kindAlias
)

type typ struct {
	kind kind
	bits int  // of integers
	def  *def // of named types
	elem *typ
}

// def is one definition of the schema, or a type that the generator adds for the schema's anonymous parts.
type def struct {
	name     string // in the schema; empty for added types
	goName   string
	kind     kind
	unstable bool
	bits     int

	fields []*field // kindStruct
	flats  []*flat  // kindStruct: unions whose members sit beside the fields
	oneOf  []string // kindStruct: exactly one of these members, the first one when both are there
	values []enumValue
	open   bool // enum that the schema leaves open
	union  *union
	alias  string

	tag, tagValue string     // variant of one tagged union only
	variants      []*variant // all variants this struct is the payload of
	asField       bool       // also used as a plain field
	method, side  string
	needZero      bool // an isZero method is needed
	synthetic     bool
	capability    string // the path at which the capabilities hold it
}

type enumValue struct {
	value  string
	goName string
}

type field struct {
	name     string
	goName   string
	typ      *typ
	required bool
	nullable bool
	onError  bool // default on error
	skip     bool // skip invalid items
	onNull   bool // default on null
	unstable bool
	rep      rep
	absentOK bool   // a required array whose absence is taken as empty
	always   string // the JSON to write when the value is zero
	decode   string // a function of package acp instead of the usual one
}

// rep is how an optional field is held.
type rep int

const (
	repPlain   rep = iota
	repOpt         // Opt[T]
	repPointer     // *T
	repPatch       // Patch[T]
	repZero        // T, left out when zero
)

// flat is a union flattened into a struct.
type flat struct {
	goName string
	union  *def
	common []string // the object's own members
}

type union struct {
	tag         string
	variants    []*variant
	fallback    *variant // when the tag is absent
	fallbackFor []string // tag values that mean the fallback
	fallbackAll bool     // any unknown tag value means the fallback
	unknown     string   // Go name of the variant that keeps what is not understood; empty for none
	hasErr      bool     // the unknown variant has an Err field
	flat        bool
	method      string // the sealing method
}

type variant struct {
	tagValue string
	member   string // of shape unions: the member that tells
	goName   string
	payload  *def // nil when the tag says it all
	own      bool // a type of its own, because several tags share the payload
	unstable bool
	empty    bool // added by the generator for a tag without payload
}

type method struct {
	wire         string
	goName       string
	side         string
	notification bool
	params       *def
	result       *def
	unstable     bool
	gate         string
}

type model struct {
	defs    []*def
	byName  map[string]*def
	byGo    map[string]*def
	methods []*method
}
