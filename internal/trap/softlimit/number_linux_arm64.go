package softlimit

const prlimit64 = 261
