package rollout

const homeVar = "USERPROFILE"
