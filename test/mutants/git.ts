/** Reads from git the newest release of this working copy, its commits, and the files that changed since one. Never writes. */
import { spawnSync } from 'node:child_process'

/** Returns the newest tag `v*` that HEAD contains; undefined if there is none, in a shallow clone without the tag, or without git. */
export function newestRelease(root: string): string | undefined {
  const args = ['-c', 'versionsort.suffix=-', 'tag', '--merged', 'HEAD', '--list', 'v*', '--sort=-version:refname']
  const { status, stdout } = git(root, args)
  return (status === 0 && stdout.split('\n')[0]) || undefined
}

/** Returns the commit about thirty commits back, or the oldest commit of a shallow clone; undefined without git. */
export function recentCommit(root: string): string | undefined {
  const { status, stdout } = git(root, ['rev-list', '--first-parent', '--max-count=30', 'HEAD'])
  return (status === 0 && stdout.trim().split('\n').at(-1)) || undefined
}

/** Whether git knows a commit by this name. */
export function isCommit(root: string, name: string): boolean {
  return git(root, ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`]).status === 0
}

/** Returns the commit at which HEAD and `ref` parted, or `ref` itself if they have no commit in common. */
export function mergeBase(root: string, ref: string): string {
  const { status, stdout } = git(root, ['merge-base', 'HEAD', ref])
  return status === 0 ? stdout.trim() : ref
}

/**
 * Returns the files that differ from that commit, including uncommitted ones, relative to the repository. Throws if git does not know the
 * commit.
 */
export function changedSince(root: string, ref: string): string[] {
  const asked = [
    ['diff', '--name-only', '--no-renames', '--relative', '-z', '--end-of-options', ref, '--'],
    ['ls-files', '--others', '--exclude-standard', '-z'],
  ]
  return asked.flatMap((args) => {
    const { status, stdout, stderr } = git(root, args)
    if (status !== 0) throw new Error(`git cannot list the changes since ${ref}: ${stderr.trim().split('\n')[0]}`)
    return stdout.split('\0').filter((file) => file !== '')
  })
}

/** Returns the content of a file at that commit, or undefined if it did not exist. */
export function textAt(root: string, ref: string, file: string): string | undefined {
  const { status, stdout } = git(root, ['show', `${ref}:./${file}`])
  return status === 0 ? stdout : undefined
}

function git(root: string, args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
}
