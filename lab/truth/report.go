package truth

// Report is the part of kdupscan's JSON report that is compared.
type Report struct {
	Verdict  string
	Coverage struct {
		Gaps   struct{ Count int64 }
		Limits []struct{ Code string }
	}
	Counts   map[string]int64
	Findings []Finding
}

// Finding is one finding of a report.
type Finding struct {
	ID, Verdict, Cause string
	Topic              *string
	Partition          int32
	Records            []struct{ Offsets []any } // numbers; null or "absent"
	Copies             []Copy
	Bump               *struct {
		Trigger *struct {
			ErrorCode *int16 `json:"error_code"`
			Topic     *string
			Partition *int32
		}
	}
}

// Copy is one copy of a finding's records.
type Copy struct {
	LeaderEpoch *int32 `json:"leader_epoch"`
	Batches     []CopyBatch
}

// CopyBatch is one batch of a copy.
type CopyBatch struct {
	ProducerID    int64  `json:"producer_id"`
	ProducerEpoch int16  `json:"producer_epoch"`
	BaseSequence  int32  `json:"base_sequence"`
	LastSequence  int32  `json:"last_sequence"`
	CRC           string `json:"crc"`
	BaseOffset    *int64 `json:"base_offset"`
	LastOffset    *int64 `json:"last_offset"`
}
