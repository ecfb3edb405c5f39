import { BlockList, isIP } from "node:net";

/**
 * IPv4 ranges that are not the public internet, by the IANA special-purpose registry, with the
 * multicast and reserved blocks. Source: https://www.iana.org/assignments/iana-ipv4-special-registry
 */
const specialIpv4: readonly (readonly [network: string, prefix: number, name: string])[] = [
  ["0.0.0.0", 8, "unspecified"],
  ["10.0.0.0", 8, "private"],
  ["100.64.0.0", 10, "carrier-grade NAT"],
  ["127.0.0.0", 8, "loopback"],
  ["169.254.0.0", 16, "link-local"],
  ["172.16.0.0", 12, "private"],
  ["192.0.0.0", 24, "protocol assignments"],
  ["192.0.2.0", 24, "documentation"],
  ["192.88.99.0", 24, "6to4 relay"],
  ["192.168.0.0", 16, "private"],
  ["198.18.0.0", 15, "benchmarking"],
  ["198.51.100.0", 24, "documentation"],
  ["203.0.113.0", 24, "documentation"],
  ["224.0.0.0", 4, "multicast"],
  ["240.0.0.0", 4, "reserved"],
];

/**
 * IPv6 has one public block, 2000::/3, with these holes. Everything else (loopback, IPv4-mapped,
 * NAT64, unique local, link-local, multicast) is refused by lying outside it, so that a range that is
 * assigned later is refused until it is listed. 6to4 and Teredo are holes because an IPv4 address
 * hides in them. Source: https://www.iana.org/assignments/iana-ipv6-special-registry
 */
const publicIpv6: readonly [string, number] = ["2000::", 3];
const specialIpv6: readonly (readonly [network: string, prefix: number, name: string])[] = [
  ["2001::", 23, "protocol assignments, with Teredo and benchmarking"],
  ["2001:db8::", 32, "documentation"],
  ["2002::", 16, "6to4"],
  ["3fff::", 20, "documentation"],
];

const ipv4 = new BlockList();
for (const [network, prefix] of specialIpv4) ipv4.addSubnet(network, prefix, "ipv4");

const ipv6 = new BlockList();
for (const [network, prefix] of specialIpv6) ipv6.addSubnet(network, prefix, "ipv6");

const ipv6Public = new BlockList();
ipv6Public.addSubnet(...publicIpv6, "ipv6");

/**
 * Whether an address, in any spelling that a socket reports, is on the public internet. What is no
 * address, or names a zone, is not.
 *
 * @example
 * ```ts
 * isPublicAddress("93.184.216.34"); // true
 * isPublicAddress("::ffff:169.254.169.254"); // false
 * ```
 */
export function isPublicAddress(address: string): boolean {
  if (address.includes("%")) return false;
  const family = isIP(address);
  if (family === 4) return !ipv4.check(address, "ipv4");
  return family === 6 && ipv6Public.check(address, "ipv6") && !ipv6.check(address, "ipv6");
}
