package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/reassembly"
)

// An exchange of every version is read to its end, with every field set, and names the software from version 3 on.
func TestAPIVersionsOfEveryVersion(t *testing.T) {
	cluster := "4L6g3nShT-eMCtK--X86sw"
	for version := range apis[keyAPIVersions].newest + 1 {
		for _, id := range []*string{nil, &cluster} {
			q := kmsg.NewPtrApiVersionsRequest()
			q.ClientSoftwareName, q.ClientSoftwareVersion, q.ClusterID = "kgo", "v1.22.3", id
			a := kmsg.NewPtrApiVersionsResponse()
			a.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: 0, MaxVersion: 13}, {ApiKey: 18, MaxVersion: 5}}
			a.ThrottleMillis, a.FinalizedFeaturesEpoch = 7, 9
			a.SupportedFeatures = []kmsg.ApiVersionsResponseSupportedFeature{{Name: "kraft.version", MaxVersion: 1}}
			o := run(newScript(true).data(asks, request(q, version, 1, "reader")).data(answers, answer(a, version, 1)).close(reassembly.ClosedFIN))
			if n := o.stats.APIs[API{keyAPIVersions, version}]; n == nil || n.Undecoded != 0 || n.Responses != 1 || len(o.notes) != 0 {
				t.Errorf("version %d: %+v, notes %v", version, n, o.notes)
			}
			named := of[*ClientNamed](o)
			if len(named) != 1 || version >= 3 && (named[0].SoftwareName != "kgo" || named[0].SoftwareVersion != "v1.22.3") {
				t.Errorf("version %d: named %+v", version, named)
			}
		}
	}
}
