package session

import (
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// dataVersion is the version of every kind's data today. A change that an older reader may ignore (a new member) keeps
// it; one that would mislead an older reader raises it, and that reader then sees [Unknown].
const dataVersion = 1

// encode gives the JSON of data. Text that is not UTF-8 (a command's output, a broken model) is stored with the
// replacement character; the second result is what a reader will get back, so that live and replay cannot differ.
func encode(data Data) ([]byte, Data, error) {
	if u, ok := data.(Unknown); ok {
		if !jsontext.Value(u.Raw).IsValid() {
			return nil, nil, fmt.Errorf("encode event %s: not valid JSON", u.Name)
		}
		return u.Raw, u, nil
	}
	if live(data) {
		return nil, nil, fmt.Errorf("encode event %s: it is shown live only and never stored", data.Kind())
	}
	duplicates := jsontext.AllowDuplicateNames(true) // a model's arguments and a provider's opaque data are not ours to refuse
	raw, err := json.Marshal(data, duplicates)
	if err == nil && utf8.Valid(raw) {
		return raw, data, nil
	}
	raw, err = json.Marshal(data, duplicates, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, nil, fmt.Errorf("encode event %s: %w", data.Kind(), err)
	}
	stored, err := decode(data.Kind(), dataVersion, raw)
	if err != nil {
		return nil, nil, err
	}
	return raw, stored, nil
}

// live tells whether data is shown and not kept.
func live(data Data) bool {
	switch data.(type) {
	case MessageDelta, CallOutput, ContextMeasured:
		return true
	}
	return false
}

// decode is the inverse of encode. A kind or version that this program does not know becomes [Unknown]; members that it
// does not know are ignored, and stay in the store.
func decode(kind Kind, version int, raw []byte) (Data, error) {
	if version > dataVersion {
		return Unknown{Name: kind, Raw: raw}, nil
	}
	switch kind {
	case KindCreated:
		return decodeAs[Created](raw)
	case KindTitled:
		return decodeAs[Titled](raw)
	case KindConfigured:
		return decodeAs[Configured](raw)
	case KindRooted:
		return decodeAs[Rooted](raw)
	case KindTurnStarted:
		return decodeAs[TurnStarted](raw)
	case KindTurnEnded:
		return decodeAs[TurnEnded](raw)
	case KindMessageSaved:
		return decodeAs[MessageSaved](raw)
	case KindMessageDone:
		return decodeAs[MessageDone](raw)
	case KindCallRequested:
		return decodeAs[CallRequested](raw)
	case KindCallPresented:
		return decodeAs[CallPresented](raw)
	case KindCallStarted:
		return decodeAs[CallStarted](raw)
	case KindCallDone:
		return decodeAs[CallDone](raw)
	case KindPermissionAsked:
		return decodeAs[PermissionAsked](raw)
	case KindPermissionAnswered:
		return decodeAs[PermissionAnswered](raw)
	case KindCommandAllowed:
		return decodeAs[CommandAllowed](raw)
	case KindForgotten:
		return decodeAs[Forgotten](raw)
	case KindQuestionAsked:
		return decodeAs[QuestionAsked](raw)
	case KindQuestionAnswered:
		return decodeAs[QuestionAnswered](raw)
	case KindPlanChanged:
		return decodeAs[PlanChanged](raw)
	case KindUsageRecorded:
		return decodeAs[UsageRecorded](raw)
	case KindNotice:
		return decodeAs[Notice](raw)
	case KindAttached:
		return decodeAs[Attached](raw)
	case KindCommandAnswered:
		return decodeAs[CommandAnswered](raw)
	case KindCleared:
		return decodeAs[Cleared](raw)
	case KindSteered:
		return decodeAs[Steered](raw)
	case KindCompactionStarted:
		return decodeAs[CompactionStarted](raw)
	case KindCompactionEnded:
		return decodeAs[CompactionEnded](raw)
	case KindForked:
		return decodeAs[Forked](raw)
	}
	return Unknown{Name: kind, Raw: raw}, nil
}

func decodeAs[T Data](raw []byte) (Data, error) {
	var data T
	if err := json.Unmarshal(raw, &data, jsontext.AllowDuplicateNames(true)); err != nil {
		return nil, fmt.Errorf("decode event %s: %w", data.Kind(), err)
	}
	return data, nil
}

// MarshalData gives the JSON under which data is stored.
func MarshalData(data Data) ([]byte, error) {
	raw, _, err := encode(data)
	return raw, err
}
