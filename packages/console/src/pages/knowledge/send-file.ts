/** Sends one file with XMLHttpRequest, because only it reports upload progress. Header, credentials and failures are those of `call`. */
import { ApiFailure, addressOf, consoleHeader, failureOf } from '../../api/client.ts'

// The server's limit, so that no upload is refused at its end.
const maxFile = 20 * 1024 * 1024

type Sent = { method: 'POST' | 'PUT'; onProgress(percent: number): void }

/** Resolves with the JSON of the response. Throws ApiFailure. */
export async function sendFile<Answer>(path: string, file: File, { method, onProgress }: Sent): Promise<Answer> {
  if (file.size > maxFile) throw tooLarge
  const response = await answerTo(path, file, { method, onProgress })
  if (!response.ok) throw await failureOf(response)
  return (await response.json()) as Answer
}

function answerTo(path: string, file: File, { method, onProgress }: Sent): Promise<Response> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    const form = new FormData()
    form.append('file', file, file.name)
    request.open(method, addressOf(path))
    for (const [name, value] of Object.entries(consoleHeader)) request.setRequestHeader(name, value)
    request.upload.addEventListener('progress', ({ lengthComputable, loaded, total }) => {
      if (lengthComputable) onProgress(Math.floor((100 * loaded) / total))
    })
    request.addEventListener('load', () =>
      resolve(new Response(request.responseText, { status: request.status, headers: headersOf(request) })),
    )
    request.addEventListener('error', () => reject(noAnswer))
    request.addEventListener('abort', () => reject(noAnswer))
    request.send(form)
  })
}

const headersOf = (request: XMLHttpRequest): [string, string][] =>
  ['x-request-id', 'retry-after', 'x-ratelimit-limit'].flatMap((name): [string, string][] => {
    const value = request.getResponseHeader(name)
    return value === null ? [] : [[name, value]]
  })

const tooLarge = new ApiFailure({
  status: 413,
  code: 'payload_too_large',
  message: 'The file is larger than 20 MiB. Split it, or remove its images.',
})
const noAnswer = new ApiFailure({
  status: 0,
  code: 'no_answer',
  message: 'The connection was lost during the upload. Retry the upload.',
})
