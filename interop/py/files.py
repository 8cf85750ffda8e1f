"""The files side of the client: open buffers, some with text that is not saved, over the disk."""

from pathlib import Path

from acp import RequestError
from acp.schema import ReadTextFileResponse, WriteTextFileResponse


class Files:
    def __init__(self, buffers):
        self.buffers = dict(buffers)  # path -> text
        self.log = []  # every call, in order

    async def read_text_file(self, session_id, path, line=None, limit=None, **kwargs):
        self.log.append({"method": "read", "path": path})
        text = self.buffers.get(path)
        if text is None:
            text = self.disk(path)
        if text is None:
            raise RequestError.resource_not_found(path)
        if line is not None or limit is not None:
            start = (line or 1) - 1
            end = None if limit is None else start + limit
            text = "".join(text.splitlines(keepends=True)[start:end])
        return ReadTextFileResponse(content=text)

    async def write_text_file(self, session_id, path, content, **kwargs):
        self.log.append({"method": "write", "path": path, "content": content})
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(content)
        if path in self.buffers:
            self.buffers[path] = content
        return WriteTextFileResponse()

    def disk(self, path):
        """The text on disk, or None where there is no file."""
        try:
            return Path(path).read_text()
        except FileNotFoundError:
            return None
