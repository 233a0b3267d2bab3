/**
 * Which addresses and host names are nobody's but the operator's own: everything that is not a public unicast address, and the names and
 * addresses at which clouds hand out credentials. Pure; never looks a name up.
 */
import { BlockList, isIP } from 'node:net'

// IANA's registry of special-purpose IPv4 addresses, multicast and what is reserved above it.
const denied4: [string, number][] = [
  ['0.0.0.0', 8], // this network; 0.0.0.0 itself reaches the machine's own listeners
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // behind a carrier's NAT
  ['127.0.0.0', 8], // loopback
  ['169.254.0.0', 16], // link-local, and the metadata of most clouds
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.31.196.0', 24], // AS112
  ['192.52.193.0', 24], // automatic multicast tunnels
  ['192.88.99.0', 24], // former relays from 6to4
  ['192.168.0.0', 16], // private
  ['192.175.48.0', 24], // AS112
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, and broadcast
  ['168.63.129.16', 32], // public in form: the host agent of a virtual machine in Azure
]

// Of IPv6 only global unicast is let through, so that loopback, link-local, unique local, multicast, and IPv4 that is mapped (::ffff:0:0/96),
// compatible (::/96) or translated (64:ff9b::/96, 64:ff9b:1::/48) need no line of their own.
const unicast6: [string, number] = ['2000::', 3]
const denied6: [string, number][] = [
  ['2001::', 23], // protocol assignments: Teredo, benchmarks, ORCHID
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4, which holds an IPv4 address
  ['2620:4f:8000::', 48], // AS112
  ['3fff::', 20], // documentation
]

const denied = new BlockList()
for (const [network, prefix] of denied4) denied.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of denied6) denied.addSubnet(network, prefix, 'ipv6')
const unicast = new BlockList()
unicast.addSubnet(...unicast6, 'ipv6')

/** Whether an address, as a look-up or a socket writes it, is public. What is no address is not. */
export function isPublic(address: string): boolean {
  // a zone belongs to addresses of one link alone
  if (address.includes('%')) return false
  const family = isIP(address)
  if (family === 4) return !denied.check(address, 'ipv4')
  return family === 6 && unicast.check(address, 'ipv6') && !denied.check(address, 'ipv6')
}

// Zones that are never public (RFC 6761, 6762, 8375; .internal is set aside for private use), where clouds keep most names of their metadata.
const deniedZones = ['localhost', 'local', 'internal', 'home.arpa']
const deniedNames = ['metadata.goog', 'metadata.packet.net', 'metadata.platformequinix.com', 'metadata.tencentyun.com']

/** Whether a host name, in lower case and without a dot at its end, may be looked up at all. */
export function isPublicName(name: string): boolean {
  // one label alone is a name of the own network: metadata, instance-data
  if (!name.includes('.')) return false
  return !deniedNames.includes(name) && !deniedZones.some((zone) => name.endsWith(`.${zone}`))
}
