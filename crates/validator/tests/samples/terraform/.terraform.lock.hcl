# This file is maintained automatically by "terraform init".
# Manual edits may be lost in future updates.

provider "registry.example/hashicorp/random" {
  version     = "3.5.1"
  constraints = ">= 3.0.0"
  hashes = [
    "h1:MxEu4U7kacPrUv6QMi7IHdQEoAk9Vlptcc53y8gSTjs=",
    "zh:f998fe06afa0cfbe73e0449dc2b1698309e1b5714960f027b2858312b152c275",
  ]
}

provider "registry.example/acme/own" {
  version = "1.0.0"
  hashes = ["h1:l/tfhTi4n2wazP0Zg2tlpzth+8Lgy/hLuFig//o/FZI="]
}
