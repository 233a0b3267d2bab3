/**
 * Makes sure that a run leaves nothing behind if the harness is killed. A shell in its own session waits on a pipe from this process. When
 * the pipe closes, it ends the servers with the given process IDs, unmounts the small disk and deletes the folder.
 */
import { spawn } from 'node:child_process'

export type Guard = {
  tell(word: 'start' | 'gone', pid: number): void
  /** Everything is cleaned up; there is nothing left to do. */
  done(): void
}

const script = `
pids=" "
while read -r word pid; do
  case $word in
    start) pids="$pids$pid " ;;
    gone) case $pids in *" $pid "*) pids="\${pids%%" $pid "*} \${pids#*" $pid "}" ;; esac ;;
    done) exit 0 ;;
  esac
done
for pid in $pids; do kill -KILL "$pid" 2>/dev/null; done
sleep 0.2
umount "$1/disk" 2>/dev/null
rm -rf "$1"`

export function startGuard(folder: string): Guard {
  const shell = spawn('/bin/sh', ['-c', script, 'guard', folder], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  shell.stdin.on('error', () => undefined)
  shell.unref()
  // Node's type for a child's pipe hides that it is a socket.
  ;(shell.stdin as unknown as { unref(): void }).unref()
  return {
    tell: (word, pid) => void shell.stdin.write(`${word} ${pid}\n`),
    done: () => void shell.stdin.end('done\n'),
  }
}
