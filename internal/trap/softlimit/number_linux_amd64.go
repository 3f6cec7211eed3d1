package softlimit

const prlimit64 = 302
