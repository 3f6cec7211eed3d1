# replay.py FILE DEV l2|l3 [DSTMAC]: sends the frames of a pcap file through a device. l2: the whole
# Ethernet frame (with another destination MAC); l3: the IP datagram only.
import socket, struct, sys, time
name, dev, mode = sys.argv[1:4]
mac = bytes.fromhex(sys.argv[4].replace(':', '')) if len(sys.argv) > 4 else None
b = open(name, 'rb').read()
at = 24
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW if mode == 'l2' else socket.SOCK_DGRAM, 0)
s.bind((dev, 0))
while at < len(b):
    n = struct.unpack_from('<I', b, at + 8)[0]
    f = b[at+16:at+16+n]; at += 16 + n
    if mode == 'l2':
        if mac: f = mac + f[6:]
        s.send(f)
    elif mode == 'raw':
        r = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0); r.bind((dev, 0))
        r.sendto(f[14:], (dev, struct.unpack('!H', f[12:14])[0])); r.close()
    else:
        s.sendto(f[14:], (dev, struct.unpack('!H', f[12:14])[0], 0, 0, mac or b''))
    time.sleep(0.002)
