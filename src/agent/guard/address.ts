/**
 * Decides which addresses and host names are public. Everything else may belong to the operator's own network: addresses that are not
 * public unicast, and the names and addresses at which cloud providers serve credentials. It does not resolve names.
 */
import { BlockList, isIP } from 'node:net'

// IANA's registry of special-purpose IPv4 addresses, multicast, and the reserved range above it.
const denied4: [string, number][] = [
  ['0.0.0.0', 8], // this network; 0.0.0.0 itself reaches listeners on the same machine
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // carrier-grade NAT
  ['127.0.0.0', 8], // loopback
  ['169.254.0.0', 16], // link-local, including the metadata service of most clouds
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.31.196.0', 24], // AS112
  ['192.52.193.0', 24], // automatic multicast tunnels
  ['192.88.99.0', 24], // former 6to4 relays
  ['192.168.0.0', 16], // private
  ['192.175.48.0', 24], // AS112
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, and broadcast
  ['168.63.129.16', 32], // a public address, but used by the host agent of Azure virtual machines
]

// For IPv6 only global unicast is allowed. Loopback, link-local, unique local, multicast, and IPv4-mapped (::ffff:0:0/96), IPv4-compatible
// (::/96) and translated (64:ff9b::/96, 64:ff9b:1::/48) addresses are therefore not listed here.
const unicast6: [string, number] = ['2000::', 3]
const denied6: [string, number][] = [
  ['2001::', 23], // protocol assignments: Teredo, benchmarks, ORCHID
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4, which contains an IPv4 address
  ['2620:4f:8000::', 48], // AS112
  ['3fff::', 20], // documentation
]

const denied = new BlockList()
for (const [network, prefix] of denied4) denied.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of denied6) denied.addSubnet(network, prefix, 'ipv6')
const unicast = new BlockList()
unicast.addSubnet(...unicast6, 'ipv6')

/** Whether an address, as DNS or a socket reports it, is public. Returns false for anything that is not an IP address. */
export function isPublic(address: string): boolean {
  // Only link-local addresses have a zone.
  if (address.includes('%')) return false
  const family = isIP(address)
  if (family === 4) return !denied.check(address, 'ipv4')
  return family === 6 && unicast.check(address, 'ipv6') && !denied.check(address, 'ipv6')
}

// Domains that are never public (RFC 6761, 6762, 8375; .internal is reserved for private use). Most cloud metadata services have names in
// them.
const deniedZones = ['localhost', 'local', 'internal', 'home.arpa']
const deniedNames = ['metadata.goog', 'metadata.packet.net', 'metadata.platformequinix.com', 'metadata.tencentyun.com']

/** Whether a host name may be resolved at all. `name` is in lower case and has no trailing dot. */
export function isPublicName(name: string): boolean {
  // A single label is a name in the local network, such as `metadata` or `instance-data`.
  if (!name.includes('.')) return false
  return !deniedNames.includes(name) && !deniedZones.some((zone) => name.endsWith(`.${zone}`))
}
