# SPDX-License-Identifier: BSD-2-Clause
# bash completion of hone. Filters, their parameters and the options of a command come from hone itself.

# The words of "-o, --option VALUE" lines in a command's help.
_hone_options() {
    "${COMP_WORDS[0]}" "$1" --help 2>/dev/null |
        sed -n 's/^  *\(-[[:alnum:]], *\)\{0,1\}\(--[[:alnum:]-]*\).*/\2/p'
}

_hone_commands() {
    "${COMP_WORDS[0]}" --help 2>/dev/null | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

# What names a filter: its name, or the path of one's own. Extra arguments are compgen's.
_hone_filters() {
    local word=$1
    shift
    if [[ $word == */* ]]; then
        compgen "$@" -f -X '!*.cl' -- "$word"
        compgen "$@" -S / -d -- "$word"
    else
        compgen "$@" -W "$("${COMP_WORDS[0]}" filters --names 2>/dev/null)" -- "$word"
        [[ -z $word ]] || compgen "$@" -f -X '!*.cl' -- "$word"
    fi
}

# What may come next in a chain: the part behind the last '|' is a filter, or a filter and its parameters.
_hone_chain() {
    local typed=$1 step filter word before
    step=${typed##*|}
    before=${typed%"$step"}
    step=${step#"${step%%[! ]*}"}
    word=${step##* }
    if [[ $step == *' '* ]]; then
        filter=${step%% *}
        before=${typed%"$word"}
        mapfile -t COMPREPLY < <(compgen -P "$before" -W "$("${COMP_WORDS[0]}" filters --names "$filter" 2>/dev/null)" \
            -- "$word")
    else
        [[ -n $before ]] && before+=' '
        mapfile -t COMPREPLY < <(_hone_filters "$word" -P "$before")
    fi
    compopt -o nospace
}

# The variants of the filters that stand before on the line.
_hone_variants() {
    local name
    printf '%s\n' "${COMP_WORDS[@]:2:COMP_CWORD-2}" | tr -d "'\"" | tr '|' '\n' | sed 's/^ *//; s/ .*//' |
        grep -Fxf <("${COMP_WORDS[0]}" filters --names 2>/dev/null) |
        while read -r name; do "${COMP_WORDS[0]}" filters --variants "$name" 2>/dev/null; done | sort -u
}

# The value of an option: status 1 where the word before is none that takes one.
_hone_value() {
    local words= before= current=$3
    case "$1 $2" in
        *' --kernel-file' | *' --trace' | *' --spec' | *' --import' | *' --export' | *' --replay' | *' --header' | *' --check' | \
            *' --output' | *' -o' | *' --html' | *' --include' | *' --folder' | *' -I')
            compopt -o default -o filenames
            mapfile -t COMPREPLY < <(compgen -f -- "$3")
            return 0 ;;
        'tune --format' | 'bench --format') words='u8 u16 s16 f32' ;;
        *' --format') words=$("${COMP_WORDS[0]}" formats --json 2>/dev/null |
            sed -n '/"suffixes"/h; /"writes": true/{g; s/^ *"suffixes": "\.\([^ "]*\).*/\1/p; }') ;;
        *' --tune') words='auto off full' ;;
        *' --perf-hint') words='high normal low' ;;
        *' --clock') words='auto device host' ;;
        *' --alpha') words='auto copy' ;;
        *' --planes') words='luma all' ;;
        *' --compression') words='none lzw deflate packbits zstd lossless' ;;
        *' --background') words='black white gray' ;;
        *' --device') words='auto cpu gpu accelerator' ;;
        *' --variant') words=$(_hone_variants) before=${current%"${current##*,}"} current=${current##*,} ;;
        *) return 1 ;;
    esac
    mapfile -t COMPREPLY < <(compgen -P "$before" -W "$words" -- "$current")
}

_hone() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} quote=
    COMPREPLY=()
    # Of --option=value, bash makes three words.
    [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD - 2]}
    [[ $current == = ]] && current=
    ((COMP_CWORD > 2)) && _hone_value "$command" "$before" "$current" && return
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$(_hone_commands) help --help --version" -- "$current")
    elif [[ $command == help ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_hone_commands)" -- "$current")
    elif [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_hone_options "$command")" -- "$current")
    elif [[ $command == cache ]]; then
        mapfile -t COMPREPLY < <(compgen -W 'list tuning verify clear precompile' -- "$current")
    elif [[ $command == bench && " ${COMP_WORDS[*]:2:COMP_CWORD-2} " == *' experiments '* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" bench 2>/dev/null | sed -n 's/^   \([a-z-]*\) .*/\1/p')" -- "$current")
    elif [[ $command == bench ]]; then
        mapfile -t COMPREPLY < <(compgen -W "roofs probes experiments $("${COMP_WORDS[0]}" bench --json 2>/dev/null |
            sed -n 's/^    "name": "\([^"]*\)".*/\1/p')" -- "$current"; _hone_filters "$current")
    elif [[ $command == @(filters|tune|doctor) ]]; then
        mapfile -t COMPREPLY < <(_hone_filters "$current")
    elif [[ $command == @(apply|profile) && $COMP_CWORD == 2 ]]; then
        [[ $current == [\'\"]* ]] && quote=${current:0:1}
        _hone_chain "${current#"$quote"}"
    else
        compopt -o default -o filenames
    fi
    [[ ${COMPREPLY[0]} == */ ]] && compopt -o nospace
}

complete -F _hone hone
