package session

import (
	"bytes"
	"reflect"
	"testing"
)

func FuzzDecode(f *testing.F) {
	kinds := []Kind{
		KindCreated, KindTitled, KindConfigured, KindRooted, KindTurnStarted, KindTurnEnded, KindMessageSaved, KindMessageDone, KindCallRequested,
		KindCallPresented, KindCallStarted, KindCallDone, KindPermissionAsked, KindPermissionAnswered, KindPlanChanged, KindUsageRecorded, KindNotice,
		KindCommandAnswered, KindCleared, KindSteered, KindCompactionStarted, KindCompactionEnded,
		KindAttached,
	}
	for i := range kinds {
		f.Add(i, []byte(`{}`))
	}
	f.Add(4, []byte(`{"turn":"t","message":"m","prompt":[{"type":"image","data":"AAEC"},{"type":"text","text":"x"}]}`))
	f.Add(8, []byte(`{"call":"call_1","modelId":"m","tool":"t","args":{"a":[1.0e3,"\ud800"],"a":null}}`))
	f.Add(11, []byte(`{"call":"c","status":"completed","result":{"text":"x","views":{"/a":{"version":{"digest":"d"}}},"plan":null}}`))
	f.Fuzz(func(t *testing.T, kind int, raw []byte) {
		if kind < 0 || kind >= len(kinds) {
			return
		}
		data, err := decode(kinds[kind], dataVersion, raw)
		if err != nil {
			return
		}
		if data.Kind() != kinds[kind] {
			t.Fatalf("kind %s became %s", kinds[kind], data.Kind())
		}
		// What can be read can be written, and is the same when it is read again.
		first, stored, err := encode(data)
		if err != nil {
			t.Fatalf("%#v: %v", data, err)
		}
		again, err := decode(kinds[kind], dataVersion, first)
		if err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		second, _, err := encode(again)
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s became %s, %v", first, second, err)
		}
		if third, _, _ := encode(stored); !bytes.Equal(first, third) {
			t.Fatalf("what append returns is %s, what is stored %s", third, first)
		}
	})
}

func TestEveryKindIsDecodedAsItself(t *testing.T) {
	for _, data := range []Data{
		Created{}, Titled{}, Configured{}, Rooted{}, TurnStarted{}, TurnEnded{}, MessageSaved{}, MessageDone{}, CallRequested{Args: []byte("{}")},
		CallPresented{}, CallStarted{}, CallDone{}, PermissionAsked{}, PermissionAnswered{}, PlanChanged{}, UsageRecorded{}, Notice{},
		CommandAnswered{}, Cleared{}, Steered{}, CompactionStarted{}, CompactionEnded{},
		Attached{},
	} {
		raw, _, err := encode(data)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(data.Kind(), dataVersion, raw)
		if err != nil || reflect.TypeOf(got) != reflect.TypeOf(data) {
			t.Errorf("%s is read as %T, %v", data.Kind(), got, err)
		}
	}
}
