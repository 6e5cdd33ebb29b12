package insight

func gatherFiles(*Report, Source)    {}
func gatherMessages(*Report, Source) {}
func bound(*Report)                  {}
