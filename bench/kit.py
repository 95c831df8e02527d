# SPDX-License-Identifier: BSD-2-Clause
"""What programs that measure share: contenders that take turns, where they come from, and tables between marks in documents."""
import datetime
import functools
import importlib.util
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
# The Python that has the libraries: this one, or Debian's.
PYTHON = sys.executable if importlib.util.find_spec('cv2') else '/usr/bin/python3'
NPP_LIBRARIES = ['-lnppc', '-lnppial', '-lnppicc', '-lnppidei', '-lnppif', '-lnppist']

said = set()


def say_once(text):
    """A peer that is missing is missing in every case."""
    if text not in said:
        said.add(text)
        print(text, file=sys.stderr, flush=True)


class Contender:
    """A program that measures when asked: a number of rounds in, milliseconds out. It begins with some figures of its own, which
    are waited for when the first round is asked for, so that several can begin at once."""

    def __init__(self, command, figures=1):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.PIPE)
        self.note = ''
        self.samples = []
        self.figures = figures
        self.problem = ''

    def ready(self):
        """Waits until it has begun; raises RuntimeError where it cannot."""
        while self.figures:
            self.figures -= 1
            self.read()
        return self

    def read(self):
        line = self.process.stdout.readline()
        if line.startswith('#'):
            self.note = line[1:].strip()
            line = self.process.stdout.readline()
        if not line:
            self.problem = self.problem or self.process.stderr.read().strip() or 'ended without a figure'
            raise RuntimeError(self.problem)
        return [float(figure) for figure in line.split()]

    def round(self, count):
        self.ready()
        try:
            self.process.stdin.write(f'{count}\n')
            self.process.stdin.flush()
        except OSError as problem:
            raise RuntimeError(self.process.stderr.read().strip() or str(problem)) from problem
        self.samples.append(self.read())

    def close(self):
        try:
            self.process.stdin.close()
        except OSError:  # it ended before
            pass
        self.process.wait()

    @property
    def ms(self):
        """All that a run takes."""
        return statistics.median(sum(sample) for sample in self.samples)

    def parts(self):
        """Kernels and copies."""
        return [statistics.median(part) for part in zip(*self.samples)]


def nvcc():
    return shutil.which('nvcc') or shutil.which('nvcc', path='/usr/local/cuda/bin')


class Tools:
    """The programs that measure: from a folder, or compiled here when one is first wanted."""

    def __init__(self, options):
        self.build = os.path.abspath(options.build)
        self.prebuilt = os.path.abspath(options.tools) if options.tools else None
        self.work = os.path.join(self.build, 'bench')
        self.found = {}
        os.makedirs(self.work, exist_ok=True)
        libraries = [self.build, self.prebuilt, os.environ.get('LD_LIBRARY_PATH')]
        os.environ['LD_LIBRARY_PATH'] = ':'.join(filter(None, libraries))

    def path(self, name):
        """Where the program is; raises RuntimeError when it cannot be had."""
        if name not in self.found:
            self.found[name] = self.prebuilt_path(name) or self.compile(name)
        path, problem = self.found[name]
        if problem:
            raise RuntimeError(problem)
        return path

    def prebuilt_path(self, name):
        path = os.path.join(self.prebuilt, name) if self.prebuilt else ''
        return (path, None) if os.path.exists(path) else None

    def compile(self, name):
        """The program's path, and why there is none."""
        if name == 'npp' and not nvcc():
            return None, 'neither nvcc nor a compiled npp is here'
        target = os.path.join(self.work, name)
        command = getattr(self, 'compile_' + name)(os.path.join(HERE, name + '.c'))
        done = subprocess.run([*command, '-o', target], capture_output=True, text=True, check=False)
        return target, done.returncode and f'{name}.c could not be compiled: {done.stderr.strip()}'

    @staticmethod
    def compile_plain(source):
        return ['gcc', '-O3', '-march=native', '-pthread', source, '-lm']

    def compile_filter(self, source):
        return ['gcc', '-O2', '-I' + os.path.join(TOP, 'include'), source, '-L' + self.build, '-lhone',
                '-Wl,-rpath,' + self.build]

    def compile_copy(self, source):
        return [*self.compile_filter(source), '-lOpenCL']

    @staticmethod
    def compile_vips(source):
        flags = subprocess.run(['pkg-config', '--cflags', '--libs', 'vips'], capture_output=True, text=True, check=False)
        return ['gcc', '-O2', source, *flags.stdout.split()]

    @staticmethod
    def compile_npp(source):
        return [nvcc(), '-O2', source, *NPP_LIBRARIES, '-lm']

    def described(self, name):
        """What hone says of a filter."""
        text = subprocess.run([os.path.join(self.build, 'hone'), 'filters', name, '--json'], check=True,
                              capture_output=True, text=True).stdout
        return json.loads(text)

    def hone(self, chain, size, kind, channels, rounds, rung=''):
        width, height = size
        return Contender([self.path('filter'), chain, str(width), str(height), kind, str(channels), str(rounds), rung],
                         figures=2)

    def peer(self, peer, name, size):
        arguments = [name, *map(str, size), '1']
        if peer in ('plain', 'npp', 'vips'):
            return Contender([self.path(peer), *arguments])
        if peer in ('ffmpeg', 'ffmpeg_opencl', 'magick'):
            return Contender([PYTHON, os.path.join(HERE, 'commands.py'), peer, *arguments])
        return Contender([PYTHON, os.path.join(HERE, 'peers', 'libraries.py'), peer, *arguments], figures=2)

    @staticmethod
    def opencv(chain, size, kind, channels, border):
        """OpenCV at what a chain of one filter does."""
        return Contender([PYTHON, os.path.join(HERE, 'peers', 'libraries.py'), 'opencv', chain, *map(str, size), '1', kind,
                          str(channels), border], figures=2)


def take_turns(found, count):
    """One round of each. A peer that fails is out of the race."""
    for name, contender in list(found.items()):
        try:
            contender.round(count)
        except RuntimeError as problem:
            if name == 'hone':
                raise
            print(f'{name}: {problem}', file=sys.stderr)
            found.pop(name).close()


def host(counts):
    return f'; processor: {processor()}' if counts else ''


VERSIONS = {  # of peers: a command, and what to find in its output
    'opencv': ((PYTHON, '-c', 'import cv2; print(cv2.__version__)'), r'(\S+)'),
    'opencv_opencl': ((PYTHON, '-c', 'import cv2; print(cv2.__version__)'), r'(\S+)'),
    'vips': (('pkg-config', '--modversion', 'vips'), r'(\S+)'),
    'cvcuda': ((PYTHON, '-c', 'import cvcuda; print(cvcuda.__version__)'), r'(\S+)'),
    'ffmpeg_opencl': (('ffmpeg', '-version'), r'version (\S+)'),
    'numpy': ((PYTHON, '-c', 'import numpy; print(numpy.__version__)'), r'(\S+)'),
    'plain': (('gcc', '-dumpfullversion'), r'(\S+)'),
    'ffmpeg': (('ffmpeg', '-version'), r'version (\S+)'),
    'magick': (('convert', '-version'), r'ImageMagick (\S+)'),
    'clpeak': (('clpeak', '--version'), r'version: (\S+)'),
    'cuda': ((nvcc() or 'nvcc', '--version'), r'release ([\d.]+)'),
    'npp': ((nvcc() or 'nvcc', '--version'), r'release ([\d.]+)'),
}


@functools.lru_cache
def version(command, pattern):
    """Not known: a question mark."""
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return '?'
    found = re.search(pattern, said)
    return found.group(1) if found else '?'


def circumstances(build, peers, wanted=()):
    """When it was measured, with which versions, and why peers that were wanted are not there."""
    hone = version((os.path.join(build, 'hone'), '--version'), r'hone (\S+)')
    reasons = {peer: next((text for text in sorted(said) if text.startswith(peer + ':')), f'{peer}: no figure').splitlines()[0]
               for peer in wanted if peer not in peers}
    return {'date': str(datetime.date.today()), 'missing': reasons,
            'versions': {'hone': hone, **{peer: version(*VERSIONS[peer]) for peer in peers}}}


def measured_line(there):
    """A line for a table."""
    programs = [f'{peer} {number}' + (' (gcc)' if peer == 'plain' else '') for peer, number in there['versions'].items()]
    missing = '; '.join(there['missing'].values())
    return f"Measured {there['date']} with {', '.join(programs)}." + (f' Missing: {missing}.' if missing else '')


def measured_with(build, peers, wanted=()):
    return measured_line(circumstances(build, peers, wanted))


def processor():
    with open('/proc/cpuinfo', encoding='ascii', errors='replace') as info:
        names = [line.split(':', 1)[1].strip() for line in info if line.startswith('model name')]
    return f'{names[0] if names else platform.processor()}, {len(names)} cores'


def size_of(text):
    width, height = map(int, text.split('x'))
    return width, height


def split(path, name):
    """The text of a file around the table between two marks, the marks included."""
    start, end = f'<!-- {name}: start -->\n', f'<!-- {name}: end -->\n'
    with open(path, encoding='utf-8') as file:
        whole = file.read()
    if whole.count(start) != 1 or whole.count(end) != 1:
        sys.exit(f'{path} lacks the lines {start.strip()} and {end.strip()}')
    return whole[:whole.index(start) + len(start)], whole[whole.index(end):]


def write(path, text, name):
    before, after = split(path, name)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(before + text + after)
